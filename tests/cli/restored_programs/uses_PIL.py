import PIL
from PIL import Image, ImageDraw, ImageFont

font, draw = ImageFont.load_default(), ImageDraw.Draw(Image.new("RGB", (9, 9)))
assert draw.textsize("text", font) == font.getsize("text") == font.getbbox("text")[2:]
assert Image.ANTIALIAS == Image.LANCZOS and PIL.PILLOW_VERSION == PIL.__version__
