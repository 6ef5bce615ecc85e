"""Fourier and cosine transforms, windows, frames, short-time spectra, mel weights, ops of audio."""

import numpy as np

from cases.table import C64, C128, F32, I32, Table

TABLE = Table("signal")
case, error_case = TABLE.case, TABLE.error_case

FFT = "sums of up to 32 terms by another fast algorithm, in float32"


def near(name, build, **options):
    """A row of transforms, which round differently."""
    case(name, build, rtol=1e-4, atol=1e-4, reason=FFT, **options)


for _name, _shape in (("", (2, 6)), ("2d", (2, 3, 4)), ("3d", (2, 2, 3, 4))):
    for _direction in ("fft", "ifft"):
        near(_direction + _name, lambda tf, x, n=_direction + _name: getattr(tf.signal, n)(x), x=C64(*_shape))
        case(_direction + _name + "_c128", lambda tf, x, n=_direction + _name: getattr(tf.spectral, n)(x, name="n"),
             x=C128(*_shape))  # fmt: skip
    for _direction in ("rfft", "irfft"):
        _input = F32(*_shape) if _direction == "rfft" else C64(*_shape)
        near(_direction + _name, lambda tf, x, n=_direction + _name: getattr(tf.signal, n)(x),
             grad=_name != "3d", x=_input)  # fmt: skip
near("rfft_padded", lambda tf, x: tf.signal.rfft(x, [9]), x=F32(2, 6))
near("rfft_cut", lambda tf, x: tf.signal.rfft(x, [4]), x=F32(2, 6), grad=False)
near("rfft2d_padded", lambda tf, x: tf.signal.rfft2d(x, [5, 7], name="r"), x=F32(3, 4))
near("irfft_odd", lambda tf, x: tf.signal.irfft(x, [9]), x=C64(2, 5))
near("irfft_padded", lambda tf, x: tf.signal.irfft(x, [12]), x=C64(2, 5))
near("irfft2d_odd", lambda tf, x: tf.signal.irfft2d(x, [3, 5]), x=C64(2, 3, 3))
case("rfft_empty", lambda tf, x: tf.signal.rfft(x), x=np.zeros([0, 4], np.float32), grad=False, partial=False)
for _name in ("fftshift", "ifftshift"):
    case(_name, lambda tf, x, n=_name: getattr(tf.signal, n)(x), x=F32(3, 4), partial=False)
    case(_name + "_axis", lambda tf, x, n=_name: getattr(tf.signal, n)(x, axes=1), x=F32(3, 5), partial=False)
    case(_name + "_axes", lambda tf, x, n=_name: getattr(tf.signal, n)(x, axes=[0, 2]), x=F32(3, 2, 5), partial=False)
error_case("rfft_rank", lambda tf, x: tf.signal.rfft2d(x), x=F32(3))
error_case("rfft_lengths", lambda tf, x: tf.signal.rfft(x, [2, 2]), x=F32(3, 4))
error_case("rfft_short", lambda tf, x: tf.raw_ops.RFFT(input=x, fft_length=[5]), x=F32(3))
error_case("irfft_short", lambda tf, x: tf.raw_ops.IRFFT(input=x, fft_length=[6]), x=C64(3))
error_case("fft_dtype", lambda tf, x: tf.signal.fft(x), x=F32(3))

for _kind in (1, 2, 3):
    near("dct_%d" % _kind, lambda tf, x, t=_kind: tf.signal.dct(x, type=t), x=F32(2, 6))
    near("idct_%d" % _kind, lambda tf, x, t=_kind: tf.spectral.idct(x, type=t, name="i"), x=F32(2, 6))
    if _kind > 1:
        near("dct_ortho_%d" % _kind, lambda tf, x, t=_kind: tf.signal.dct(x, type=t, norm="ortho"), x=F32(2, 6))
near("dct_padded", lambda tf, x: tf.signal.dct(x, n=8), x=F32(2, 6), partial=False)
near("dct_cut", lambda tf, x: tf.signal.dct(x, n=4), x=F32(2, 6), partial=False)
near("mfccs", lambda tf, x: tf.signal.mfccs_from_log_mel_spectrograms(x), x=F32(2, 3, 8))
error_case("dct_axis", lambda tf, x: tf.signal.dct(x, axis=0), x=F32(2, 3))
error_case("dct_type", lambda tf, x: tf.signal.dct(x, type=4), x=F32(2, 3))
error_case("dct_n", lambda tf, x: tf.signal.dct(x, n=0), x=F32(2, 3))
error_case("dct_norm", lambda tf, x: tf.signal.dct(x, norm="l2"), x=F32(2, 3))
error_case("dct_ortho_1", lambda tf, x: tf.signal.dct(x, type=1, norm="ortho"), x=F32(2, 3))
error_case("mfccs_empty", lambda tf, x: tf.signal.mfccs_from_log_mel_spectrograms(x), x=F32(2, 0))

for _name in ("hann_window", "hamming_window"):
    for _length in (1, 4, 5):
        for _periodic in (True, False):
            case("%s_%d_%s" % (_name, _length, _periodic),
                 lambda tf, n=_name, k=_length, p=_periodic: getattr(tf.signal, n)(k, periodic=p))  # fmt: skip
case("hann_dynamic", lambda tf, n: tf.signal.hann_window(n, dtype=tf.float64), n=np.int32(6))
error_case("window_dtype", lambda tf, n: tf.signal.hann_window(n, dtype=tf.int32), n=np.int32(6))
error_case("window_rank", lambda tf, n: tf.signal.hann_window(n), n=I32(2))

for _pad in (False, True):
    case("frame_%s" % _pad, lambda tf, x, p=_pad: tf.signal.frame(x, 4, 2, pad_end=p, pad_value=9), x=F32(2, 9))
    case("frame_axis_%s" % _pad, lambda tf, x, p=_pad: tf.signal.frame(x, 3, 2, pad_end=p, axis=1), x=F32(2, 7, 3))
case("frame_dynamic", lambda tf, x, n: tf.signal.frame(x, n, n - 1), x=F32(2, 9), n=np.int32(3))
case("frame_longer", lambda tf, x: tf.signal.frame(x, 5, 2), x=F32(2, 3))
error_case("frame_length_rank", lambda tf, x: tf.signal.frame(x, [2], 1), x=F32(4))
case("overlap_and_add", lambda tf, x: tf.signal.overlap_and_add(x, 2), x=F32(2, 3, 5))
case("overlap_and_add_fast", lambda tf, x: tf.signal.overlap_and_add(x, 4), x=F32(2, 3, 4))
case("overlap_and_add_dynamic", lambda tf, x, n: tf.signal.overlap_and_add(x, n), x=F32(3, 5), n=np.int32(3))
error_case("overlap_and_add_rank", lambda tf, x: tf.signal.overlap_and_add(x, 2), x=F32(3))
error_case("overlap_and_add_step", lambda tf, x: tf.signal.overlap_and_add(x, 1.5), x=F32(3, 2))

near("stft", lambda tf, x: tf.signal.stft(x, 6, 3), x=F32(2, 20))
near("stft_plain", lambda tf, x: tf.signal.stft(x, 6, 3, fft_length=7, window_fn=None, pad_end=True, name="s"), x=F32(20))
near("stft_dynamic", lambda tf, x, n: tf.signal.stft(x, n, 2), x=F32(12), n=np.int32(5), grad=False)
near("inverse_stft", lambda tf, x: tf.signal.inverse_stft(x, 6, 3), x=C64(2, 4, 5))
near("inverse_stft_padded", lambda tf, x: tf.signal.inverse_stft(x, 6, 3, fft_length=4), x=C64(4, 3))
near("inverse_stft_window", lambda tf, x: tf.signal.inverse_stft(x, 8, 4, window_fn=tf.signal.inverse_stft_window_fn(4)),
     x=C64(4, 5))  # fmt: skip
case("mel_matrix", lambda tf: tf.signal.linear_to_mel_weight_matrix(5, 17), rtol=2e-4, atol=1e-5,
     reason="differences of logarithms in float32")  # fmt: skip
error_case("mel_bins", lambda tf: tf.signal.linear_to_mel_weight_matrix(0))
error_case("mel_nyquist", lambda tf: tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=4001.0))
error_case("mel_edges", lambda tf: tf.signal.linear_to_mel_weight_matrix(lower_edge_hertz=10.0, upper_edge_hertz=10.0))
error_case("mel_dtype", lambda tf: tf.signal.linear_to_mel_weight_matrix(dtype=tf.int32))

case("audio_spectrogram", lambda tf, x: tf.raw_ops.AudioSpectrogram(input=x, window_size=8, stride=4, magnitude_squared=True),
     x=F32(40, 1), grad=False, partial=False, rtol=1e-4, atol=1e-4, reason=FFT)  # fmt: skip
case("audio_spectrogram_short", lambda tf, x: tf.raw_ops.AudioSpectrogram(input=x, window_size=6, stride=6), x=F32(18, 1),
     grad=False, partial=False, rtol=1e-4, atol=1e-4, reason=FFT)  # fmt: skip
error_case("audio_spectrogram_window", lambda tf, x: tf.raw_ops.AudioSpectrogram(input=x, window_size=1, stride=2), x=F32(8, 1))
error_case("audio_spectrogram_rank", lambda tf, x: tf.raw_ops.AudioSpectrogram(input=x, window_size=4, stride=2), x=F32(8))
case("mfcc", lambda tf, x: tf.raw_ops.Mfcc(spectrogram=x, sample_rate=16000), x=F32(2, 3, 129, low=0.0), grad=False, partial=False)
case("mfcc_bands", lambda tf, x: tf.raw_ops.Mfcc(spectrogram=x, sample_rate=8000, upper_frequency_limit=3000,
     lower_frequency_limit=300, filterbank_channel_count=10, dct_coefficient_count=5), x=F32(1, 2, 65, low=0.0),
     grad=False, partial=False)  # fmt: skip
error_case("mfcc_rank", lambda tf, x: tf.raw_ops.Mfcc(spectrogram=x, sample_rate=8000), x=F32(3, 65))

# ---- transforms whose results matrices' factorizations take in another layout ----

for _name, _build in (
    ("fft2d", lambda tf, x: tf.linalg.svd(tf.signal.fft2d(tf.cast(x, tf.complex64)), compute_uv=False)),
    ("rfft2d", lambda tf, x: tf.linalg.svd(tf.signal.rfft2d(x), compute_uv=False)),
    ("irfft2d", lambda tf, x: tf.abs(tf.linalg.qr(tf.signal.irfft2d(tf.cast(x, tf.complex64)))[1])),
):
    near("factorized_" + _name, _build, x=F32(2, 3, 4), grad=False)
