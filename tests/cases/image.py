"""Cases of tf.image: resizing, crops, flips, colours, boxes, measures."""

import numpy as np

from cases.table import F16, F32, F64, U8, Table

TABLE = Table("image")
case, error_case = TABLE.case, TABLE.error_case

IMAGE = F32(2, 5, 7, 3, low=0.0, high=1.0)
ONE = F32(5, 7, 3, low=0.0, high=1.0)
BYTES = U8(2, 5, 7, 3, high=256)
RESIZERS = ("bilinear", "bicubic", "nearest_neighbor", "area")
SIZES = {"up": (9, 13), "down": (3, 2), "mixed": (2, 11), "same": (5, 7), "double": (10, 14), "one": (1, 1)}

# ---- resizing ----

for method in RESIZERS:
    for label, size in SIZES.items():
        case(
            "resize_%s_%s" % (method, label),
            lambda tf, x, m=method, s=size: getattr(tf.image, "resize_" + m)(x, s),
            grad=method != "area",
            x=IMAGE,
        )
        case(
            "resize_%s_%s_corners" % (method, label),
            lambda tf, x, m=method, s=size: getattr(tf.image, "resize_" + m)(x, s, align_corners=True),
            grad=method != "area",
            x=IMAGE,
        )
        if method != "area":
            case(
                "resize_%s_%s_centers" % (method, label),
                lambda tf, x, m=method, s=size: getattr(tf.image, "resize_" + m)(x, s, half_pixel_centers=True),
                x=IMAGE,
            )
    case("resize_%s_bytes" % method, lambda tf, x, m=method: getattr(tf.image, "resize_" + m)(x, (4, 9)), x=BYTES)
    case(
        "resize_%s_float64" % method,
        lambda tf, x, m=method: getattr(tf.image, "resize_" + m)(x, (4, 9)),
        grad=method != "area",
        x=F64(1, 5, 7, 2),
    )
    error_case("resize_%s_rank" % method, lambda tf, x, m=method: getattr(tf.image, "resize_" + m)(x, (4, 9)), x=ONE)
    error_case("resize_%s_zero" % method, lambda tf, x, m=method: getattr(tf.image, "resize_" + m)(x, (0, 9)), x=IMAGE)
    error_case("resize_%s_size" % method, lambda tf, x, m=method: getattr(tf.image, "resize_" + m)(x, (4,)), x=IMAGE)

case("resize_area_large", lambda tf, x: tf.image.resize_area(x, (3, 2)), grad=False, x=F32(1, 40, 37, 3))
case("resize_size_fed", lambda tf, x, s: tf.image.resize_bilinear(x, s), x=IMAGE, s=np.array([4, 4], np.int32))
case("resize_half", lambda tf, x: tf.image.resize_bilinear(x, (4, 9)), grad=False, x=F16(1, 5, 7, 2))
for method in range(4):
    case("resize_images_%d" % method, lambda tf, x, m=method: tf.image.resize_images(x, [6, 4], m), grad=False, x=IMAGE)
case("resize_images_3d", lambda tf, x: tf.image.resize(x, [6, 4], name="small"), x=ONE)
case("resize_images_same", lambda tf, x: tf.image.resize_images(x, [5, 7]), x=BYTES)
case("resize_images_ratio", lambda tf, x: tf.image.resize_images(x, [10, 10], preserve_aspect_ratio=True), x=IMAGE)
error_case("resize_images_method", lambda tf, x: tf.image.resize_images(x, [6, 4], 7), x=IMAGE)
error_case("resize_images_rank", lambda tf, x: tf.image.resize_images(x, [6, 4]), x=F32(3, 4))
error_case("resize_images_size", lambda tf, x: tf.image.resize_images(x, [6, 4, 3]), x=IMAGE)
case("resize_with_pad", lambda tf, x: tf.image.resize_image_with_pad(x, 8, 6), grad=False, x=IMAGE)
case("resize_with_pad_3d", lambda tf, x: tf.image.resize_image_with_pad(x, 3, 9, 1), x=U8(5, 7, 3, high=256))
for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
    for antialias in (True, False):
        case(
            "scale_and_translate_%s_%d" % (kernel, antialias),
            lambda tf, x, k=kernel, a=antialias: tf.raw_ops.ScaleAndTranslate(
                images=x, size=[3, 12], scale=[0.6, 1.7], translation=[0.3, -0.4], kernel_type=k, antialias=a
            ),
            x=IMAGE,
        )
case(
    "scale_and_translate_wide",
    lambda tf, x: tf.raw_ops.ScaleAndTranslate(images=x, size=[2, 2], scale=[0.05, 0.05], translation=[0.0, 0.0]),
    x=F32(1, 40, 37, 2),
)

# ---- crops, boxes ----

BOXES = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [-0.3, 0.4, 0.5, 1.4], [0.9, 0.8, 0.1, 0.2]], np.float32)
INDEX = np.array([0, 1, 1, 0], np.int32)
for method in ("bilinear", "nearest"):
    for label, size in {"3x4": [3, 4], "1x5": [1, 5], "6x1": [6, 1]}.items():
        case(
            "crop_and_resize_%s_%s" % (method, label),
            lambda tf, x, b, i, m=method, s=size: tf.image.crop_and_resize(x, b, i, s, m, 0.25),
            x=IMAGE,
            b=BOXES,
            i=INDEX,
        )
case("crop_and_resize_bytes", lambda tf, x, b, i: tf.image.crop_and_resize(x, b, i, [3, 3]), x=BYTES, b=BOXES, i=INDEX)
case(
    "crop_and_resize_named",
    lambda tf, x, b, i: tf.image.crop_and_resize(x, b, box_indices=i, crop_size=[3, 3], name="crops"),
    x=IMAGE,
    b=BOXES,
    i=INDEX,
)
error_case(
    "crop_and_resize_index",
    lambda tf, x, b, i: tf.image.crop_and_resize(x, b, i, [3, 3]),
    x=IMAGE,
    b=BOXES,
    i=np.array([0, 2, 0, 0], np.int32),
)
error_case("crop_and_resize_size", lambda tf, x, b, i: tf.image.crop_and_resize(x, b, i, [0, 3]), x=IMAGE, b=BOXES, i=INDEX)
case(
    "draw_bounding_boxes",
    lambda tf, x, b: tf.image.draw_bounding_boxes(x, b),
    grad=False,
    x=F32(2, 12, 15, 3, low=0.0),
    b=np.stack([BOXES, BOXES[::-1] * 0.8]),
)
case(
    "draw_bounding_boxes_colors",
    lambda tf, x, b, c: tf.image.draw_bounding_boxes(x, b, colors=c),
    grad=False,
    x=F32(1, 12, 15, 4, low=0.0),
    b=BOXES[None],
    c=F32(3, 4, low=0.0),
)
case("draw_bounding_boxes_gray", lambda tf, x, b: tf.image.draw_bounding_boxes(x, b), grad=False, x=F32(1, 9, 9, 1), b=BOXES[None])
error_case("draw_bounding_boxes_depth", lambda tf, x, b: tf.image.draw_bounding_boxes(x, b), x=F32(1, 9, 9, 2), b=BOXES[None])

_random = np.random.RandomState(3)
CORNERS = _random.uniform(0, 1, (30, 4)).astype(np.float32)
SCORES = _random.uniform(0, 1, 30).astype(np.float32)
TIES = np.round(SCORES * 4).astype(np.float32) / 4
for label, scores in (("distinct", SCORES), ("ties", TIES)):
    case(
        "nms_" + label,
        lambda tf, b, s: tf.image.non_max_suppression(b, s, 12, 0.3, 0.1),
        grad=False,
        b=CORNERS,
        s=scores,
    )
    case(
        "nms_scores_" + label,
        lambda tf, b, s: tf.image.non_max_suppression_with_scores(b, s, 12, 0.8, 0.1, 0.4),
        grad=False,
        b=CORNERS,
        s=scores,
    )
    case(
        "nms_padded_" + label,
        lambda tf, b, s: tf.image.non_max_suppression_padded(b, s, 25, 0.3, pad_to_max_output_size=True),
        grad=False,
        b=CORNERS,
        s=scores,
    )
case("nms_v1", lambda tf, b, s: tf.raw_ops.NonMaxSuppression(boxes=b, scores=s, max_output_size=9), grad=False, b=CORNERS, s=SCORES)
case("nms_v2", lambda tf, b, s: tf.raw_ops.NonMaxSuppressionV2(boxes=b, scores=s, max_output_size=9, iou_threshold=0.2), grad=False, b=CORNERS, s=SCORES)
case(
    "nms_no_area",
    lambda tf, b, s: tf.image.non_max_suppression(b, s, 5),
    grad=False,
    b=np.array([[0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], [0, 0, 1, 0.9]], np.float32),
    s=np.array([0.5, 0.4, 0.3], np.float32),
)
case(
    "nms_overlaps",
    lambda tf, o, s: tf.image.non_max_suppression_overlaps(o, s, 6, 0.6, 0.1),
    grad=False,
    o=_random.uniform(0, 1, (30, 30)).astype(np.float32),
    s=SCORES,
)
error_case("nms_threshold", lambda tf, b, s: tf.image.non_max_suppression(b, s, 6, 1.5), b=CORNERS, s=SCORES)
error_case("nms_shapes", lambda tf, b, s: tf.image.non_max_suppression(b, s, 6), b=CORNERS, s=SCORES[:7])
for pad in (True, False):
    case(
        "combined_nms_%d" % pad,
        partial=not pad,
        build=lambda tf, b, s, p=pad: tf.image.combined_non_max_suppression(b, s, 4, 9, 0.4, 0.2, pad_per_class=p),
        grad=False,
        b=_random.uniform(-0.2, 1.2, (2, 10, 2, 4)).astype(np.float32),
        s=_random.uniform(0, 1, (2, 10, 2)).astype(np.float32),
    )
case(
    "combined_nms_shared",
    lambda tf, b, s: tf.image.combined_non_max_suppression(b, s, 4, 9, 0.4, clip_boxes=False),
    grad=False,
    b=_random.uniform(-0.2, 1.2, (2, 10, 1, 4)).astype(np.float32),
    s=_random.uniform(0, 1, (2, 10, 3)).astype(np.float32),
)


def three_runs(tf, session, outputs, feed):
    """What three fetches give."""
    return [session.run(outputs, feed) for _ in range(3)]


for label, options in {
    "default": {},
    "covered": {"min_object_covered": 0.7, "aspect_ratio_range": [0.5, 2.0], "area_range": [0.1, 0.9]},
    "few": {"min_object_covered": 0.99, "max_attempts": 2},
    "tall": {"aspect_ratio_range": [0.2, 0.3], "min_object_covered": 0.0},
}.items():
    case(
        "sample_distorted_" + label,
        lambda tf, b, o=options: tf.image.sample_distorted_bounding_box([60, 83, 3], b, seed=3, seed2=5, **o),
        run=three_runs,
        b=np.array([[[0.1, 0.2, 0.6, 0.7], [0.5, 0.5, 1.0, 1.0]]], np.float32),
    )
case(
    "sample_distorted_whole",
    lambda tf, b: tf.image.sample_distorted_bounding_box(
        [60, 83, 3], b, seed=3, seed2=5, use_image_if_no_bounding_boxes=True
    ),
    run=three_runs,
    b=np.zeros((0, 0, 4), np.float32),
)
error_case("sample_distorted_none", lambda tf, b: tf.image.sample_distorted_bounding_box([60, 83, 3], b), b=np.zeros((0, 0, 4), np.float32))
error_case("sample_distorted_outside", lambda tf, b: tf.image.sample_distorted_bounding_box([60, 83, 3], b), b=BOXES[None])
GLIMPSES = {
    "plain": [[0.1, -0.2], [-0.1, 0.1]],
    "raw": [[2.2, 3.1], [3.0, 2.5]],
    "normalized": [[0.5, 0.4], [0.3, 0.6]],
}
for label, options in {"plain": {}, "raw": {"centered": False, "normalized": False}, "normalized": {"centered": False}}.items():
    case(
        "extract_glimpse_" + label,
        lambda tf, x, p, o=options: tf.image.extract_glimpse(x, [2, 3], p, **o),
        grad=False,
        x=IMAGE,
        p=np.array(GLIMPSES[label], np.float32),
    )
case(
    "extract_glimpse_zero",
    lambda tf, x, p: tf.raw_ops.ExtractGlimpse(input=x, size=[4, 9], offsets=p, uniform_noise=False, noise="zero"),
    grad=False,
    x=IMAGE,
    p=np.array([[0.9, -0.2], [-1.1, 0.1]], np.float32),
)

# ---- moving pixels ----

for name in ("flip_left_right", "flip_up_down", "transpose_image"):
    case(name, lambda tf, x, n=name: getattr(tf.image, n)(x), x=ONE)
    case(name + "_batch", lambda tf, x, n=name: getattr(tf.image, n)(x), x=IMAGE)
    error_case(name + "_rank", lambda tf, x, n=name: getattr(tf.image, n)(x), x=F32(3, 4))
for name in ("random_flip_left_right", "random_flip_up_down"):
    case(name, lambda tf, x, n=name: getattr(tf.image, n)(x, seed=7), run=three_runs, x=ONE)
    case(name + "_batch", lambda tf, x, n=name: getattr(tf.image, n)(x), seed=9, run=three_runs, x=IMAGE)
for k in range(5):
    case("rot90_%d" % k, lambda tf, x, k=k: tf.image.rot90(x, k), grad=False, x=ONE)
case("rot90_batch", lambda tf, x: tf.image.rot90(x, 3, name="turn"), grad=False, x=IMAGE)
case("central_crop", lambda tf, x: tf.image.central_crop(x, 0.5), x=ONE)
case("central_crop_batch", lambda tf, x: tf.image.central_crop(x, 0.6), partial=False, x=IMAGE)
error_case("central_crop_fraction", lambda tf, x: tf.image.central_crop(x, 1.5), x=ONE)
case("crop_to_bounding_box", lambda tf, x: tf.image.crop_to_bounding_box(x, 1, 2, 3, 4), x=ONE)
case("crop_to_bounding_box_batch", lambda tf, x: tf.image.crop_to_bounding_box(x, 1, 2, 3, 4), x=IMAGE)
error_case("crop_to_bounding_box_outside", lambda tf, x: tf.image.crop_to_bounding_box(x, 3, 2, 3, 4), x=ONE)
case("pad_to_bounding_box", lambda tf, x: tf.image.pad_to_bounding_box(x, 1, 2, 8, 9), x=ONE)
case("pad_to_bounding_box_batch", lambda tf, x: tf.image.pad_to_bounding_box(x, 1, 2, 8, 9), x=IMAGE)
error_case("pad_to_bounding_box_small", lambda tf, x: tf.image.pad_to_bounding_box(x, 1, 2, 4, 9), x=ONE)
case("crop_or_pad", lambda tf, x: tf.image.resize_image_with_crop_or_pad(x, 8, 4), x=ONE)
case("crop_or_pad_batch", lambda tf, x: tf.image.resize_with_crop_or_pad(x, 2, 10), x=IMAGE)
case("crop_or_pad_fed", lambda tf, x, h: tf.image.resize_image_with_crop_or_pad(x, h, 4), x=ONE, h=np.int32(3))
case("random_crop", lambda tf, x: tf.image.random_crop(x, [3, 4, 3], seed=5), run=three_runs, x=ONE)

# ---- colours ----

for name in ("rgb_to_hsv", "rgb_to_yiq", "rgb_to_yuv", "rgb_to_grayscale"):
    case(name, lambda tf, x, n=name: getattr(tf.image, n)(x), x=IMAGE, partial=name in ("rgb_to_hsv", "rgb_to_grayscale"))
for name in ("yiq_to_rgb", "yuv_to_rgb"):
    case(name, lambda tf, x, n=name: getattr(tf.image, n)(x), x=IMAGE, partial=False)
case("hsv_to_rgb", lambda tf, x: tf.image.hsv_to_rgb(x), grad=False, x=IMAGE)
case("rgb_to_hsv_gray", lambda tf, x: tf.image.rgb_to_hsv(x), grad=False, x=np.array([[0.3, 0.3, 0.3], [0, 0, 0], [1, 1, 0.2]], np.float32))
case("rgb_to_grayscale_bytes", lambda tf, x: tf.image.rgb_to_grayscale(x), x=BYTES)
case("grayscale_to_rgb", lambda tf, x: tf.image.grayscale_to_rgb(x), x=F32(2, 4, 5, 1))
error_case("grayscale_to_rgb_depth", lambda tf, x: tf.image.grayscale_to_rgb(x), x=ONE)
error_case("rgb_to_hsv_depth", lambda tf, x: tf.image.rgb_to_hsv(x), x=F32(3, 4))
for name, value in (
    ("adjust_brightness", 0.3),
    ("adjust_contrast", 1.7),
    ("adjust_gamma", 1.4),
    ("adjust_hue", 0.3),
    ("adjust_saturation", 0.6),
):
    case(name, lambda tf, x, n=name, v=value: getattr(tf.image, n)(x, v), grad=name in ("adjust_brightness", "adjust_gamma"), x=IMAGE)
    case(name + "_bytes", lambda tf, x, n=name, v=value: getattr(tf.image, n)(x, v), x=BYTES)
case("adjust_hue_back", lambda tf, x: tf.image.adjust_hue(x, -0.9), grad=False, x=IMAGE)
case("adjust_contrast_3d", lambda tf, x: tf.image.adjust_contrast(x, 0.4), grad=False, x=F32(11, 13, 2))
error_case("adjust_gamma_negative", lambda tf, x: tf.image.adjust_gamma(x, -1.0), x=IMAGE)
error_case("adjust_hue_depth", lambda tf, x: tf.image.adjust_hue(x, 0.1), x=F32(3, 4, 2))
for name, arguments in (
    ("random_brightness", (0.4,)),
    ("random_contrast", (0.3, 1.8)),
    ("random_hue", (0.3,)),
    ("random_saturation", (0.3, 1.8)),
):
    case(name, lambda tf, x, n=name, a=arguments: getattr(tf.image, n)(x, *a), seed=11, run=three_runs, x=IMAGE)
error_case("random_contrast_range", lambda tf, x: tf.image.random_contrast(x, 1.0, 0.5), x=IMAGE)
error_case("random_hue_range", lambda tf, x: tf.image.random_hue(x, 0.7), x=IMAGE)
case(
    "per_image_standardization",
    lambda tf, x: tf.image.per_image_standardization(x),
    rtol=1e-4,
    reason="the gradient is a small difference of sums over the image",
    x=IMAGE,
)
case("per_image_standardization_bytes", lambda tf, x: tf.image.per_image_standardization(x), x=BYTES)
for source, target, saturate in (
    ("uint8", "float32", False),
    ("float32", "uint8", False),
    ("float32", "uint8", True),
    ("uint8", "int16", False),
    ("int16", "uint8", False),
    ("uint8", "uint8", False),
    ("float32", "float64", False),
):
    case(
        "convert_%s_%s_%d" % (source, target, saturate),
        lambda tf, x, t=target, s=saturate: tf.image.convert_image_dtype(x, t, s),
        grad=False,
        x=np.array([0, 1, 2, 3], source) if source != "float32" else np.array([0, 0.25, 0.999, 1], source),
    )
error_case("convert_bool", lambda tf, x: tf.image.convert_image_dtype(x, tf.bool), x=BYTES)

# ---- measures ----

case("psnr", lambda tf, x, y: tf.image.psnr(x, y, 1.0), x=IMAGE, y=IMAGE)
case("psnr_bytes", lambda tf, x, y: tf.image.psnr(x, y, 255), x=BYTES, y=BYTES)
case("ssim", lambda tf, x, y: tf.image.ssim(x, y, 1.0), grad=False, atol=1e-6, reason="sums over windows in another order", x=F32(2, 14, 16, 3, low=0.0, high=1.0), y=F32(2, 14, 16, 3, low=0.0, high=1.0))
case("ssim_small", lambda tf, x, y: tf.image.ssim(x, y, 255, filter_size=4), x=BYTES, y=BYTES)
case(
    "ssim_multiscale",
    lambda tf, x, y: tf.image.ssim_multiscale(x, y, 1.0, (0.3, 0.7), filter_size=5),
    grad=False,
    x=F32(2, 13, 16, 3, low=0.0, high=1.0),
    y=F32(2, 13, 16, 3, low=0.0, high=1.0),
)
error_case("psnr_shapes", lambda tf, x, y: tf.image.psnr(x, y, 1.0), x=IMAGE, y=F32(2, 5, 6, 3))
error_case("ssim_window", lambda tf, x, y: tf.image.ssim(x, y, 1.0), x=IMAGE, y=IMAGE)
case("total_variation", lambda tf, x: tf.image.total_variation(x), partial=False, x=IMAGE)
case("total_variation_3d", lambda tf, x: tf.image.total_variation(x, name="tv"), partial=False, x=ONE)
case("image_gradients", lambda tf, x: tf.image.image_gradients(x), partial=False, x=IMAGE)
case("sobel_edges", lambda tf, x: tf.image.sobel_edges(x), partial=False, x=IMAGE)
error_case("total_variation_rank", lambda tf, x: tf.image.total_variation(x), x=F32(3, 4))
