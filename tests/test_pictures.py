"""Pictures as people have them: formats, modes, sizes, damage."""

import io
import resource
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from recap import pictures
from recap.pictures import PictureError, digest, open_picture, plain, whole_size

QUADRANTS = ((220, 30, 30), (30, 180, 40), (20, 40, 210), (240, 240, 240))


def photo(width=64, height=48):
    """Four plain quadrants: red, green above blue, white."""
    image = Image.new("RGB", (width, height))
    for index, colour in enumerate(QUADRANTS):
        left, top = (index % 2) * width // 2, (index // 2) * height // 2
        image.paste(colour, (left, top, left + width // 2, top + height // 2))
    return image


def encoded(image, form, **options):
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def corners(image):
    """The colours in the middle of the four quadrants."""
    return [image.getpixel((image.width * x // 4, image.height * y // 4)) for y in (1, 3) for x in (1, 3)]


def close(found, expected, tolerance=12):
    return np.abs(np.asarray(found, int) - np.asarray(expected, int)).max() <= tolerance


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "ICO"])
def test_every_format_keeps_its_colours(form):
    picture = open_picture(encoded(photo(), form))
    assert picture.mode == "RGB" and picture.size[0] >= 48
    assert close(corners(picture), QUADRANTS)


@pytest.mark.parametrize(
    "mode, form",
    [("P", "PNG"), ("P", "BMP"), ("CMYK", "JPEG"), ("CMYK", "TIFF"), ("YCbCr", "JPEG"), ("LAB", "TIFF"),
     ("RGBA", "WEBP")],
)
def test_colour_modes(mode, form):
    image = photo()
    if mode == "LAB":
        from PIL import ImageCms

        profiles = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
        image = ImageCms.applyTransform(image, ImageCms.buildTransform(*profiles, "RGB", "LAB"))
    else:
        image = image.quantize(8) if mode == "P" else image.convert(mode)
    assert close(corners(open_picture(encoded(image, form))), QUADRANTS, 20)


@pytest.mark.parametrize("mode", ["1", "L"])
def test_black_and_white(mode):
    image = Image.new("L", (20, 10), 0)
    image.paste(255, (10, 0, 20, 10))
    picture = open_picture(encoded(image.convert(mode), "PNG"))
    assert picture.getpixel((3, 5)) == (0, 0, 0) and picture.getpixel((15, 5)) == (255, 255, 255)


@pytest.mark.parametrize("form", ["PNG", "TIFF", "PPM"])
def test_16_bit_grey_is_scaled_not_clipped(form):
    ramp = np.repeat(np.arange(256, dtype=np.uint16) * 257, 4).reshape(256, 4)
    values = np.asarray(open_picture(encoded(Image.fromarray(ramp), form)))[:, 0, 0].astype(int)
    assert values[0] == 0 and values[-1] == 255 and close(values, np.arange(256), 0)


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (0.0, 255.0), (-3.0, 5.0), (0.0, 1e6)])
def test_floating_point_grey_fills_the_range(low, high):
    ramp = np.linspace(low, high, 100, dtype=np.float32).reshape(10, 10)
    ramp[5, 5] = np.nan
    values = np.asarray(open_picture(encoded(Image.fromarray(ramp), "TIFF")))[..., 0]
    assert values[0, 0] == 0 and values[-1, -1] == 255 and 40 < values[3, 0] < 110


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
def test_alpha_is_composited_onto_white(mode):
    image = Image.new("RGBA", (4, 1), (0, 0, 0, 0))
    image.putpixel((1, 0), (0, 0, 0, 128))
    image.putpixel((2, 0), (0, 0, 0, 255))
    if mode == "PA":
        image = image.quantize(8)  # a palette with alpha, as PNG stores it
    picture = open_picture(encoded(image if mode == "PA" else image.convert(mode), "PNG"))
    greys = [picture.getpixel((x, 0))[0] for x in range(3)]
    assert greys[0] == 255 and abs(greys[1] - 127) <= 1 and greys[2] == 0


def test_a_transparent_colour_becomes_white():
    image = Image.new("P", (2, 1), 0)
    image.putpalette([9, 9, 9, 0, 0, 200])
    image.putpixel((1, 0), 1)
    picture = open_picture(encoded(image, "GIF", transparency=0))
    assert [picture.getpixel((x, 0)) for x in range(2)] == [(255, 255, 255), (0, 0, 200)]


@pytest.mark.parametrize("form", ["GIF", "WEBP", "TIFF", "PNG"])
def test_the_first_frame_is_taken(form):
    frames = [photo(), Image.new("RGB", (64, 48), "black")]
    data = encoded(frames[0], form, save_all=True, append_images=frames[1:])
    assert close(corners(open_picture(data)), QUADRANTS)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_exif_rotation_is_applied(orientation, form):
    undo = {1: [], 2: [0], 3: [3], 4: [1], 5: [5], 6: [2], 7: [6], 8: [4]}  # what a camera held that way records
    image = photo()
    for method in undo[orientation]:
        image = image.transpose(Image.Transpose(method))
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = open_picture(encoded(image, form, exif=exif))
    assert picture.size == (64, 48) and close(corners(picture), QUADRANTS)


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (500, 1)])
def test_tiny_pictures(size):
    assert open_picture(encoded(Image.new("RGB", size, "red"), "PNG")).size == size


@pytest.mark.parametrize(
    "size, expected",
    [((9000, 30), (4096, 14)), ((30, 9000), (14, 4096)), ((4097, 5), (4096, 5)), ((20000, 1), (4096, 1))],
)
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L", "I;16"])
def test_large_pictures_are_scaled_down(size, expected, mode):
    image = Image.new(mode, size, {"I;16": 30000}.get(mode, 0)) if mode in ("I;16", "L") else photo(*size).convert(mode)
    assert open_picture(encoded(image, "PNG")).size == expected


def test_scaling_keeps_the_places(monkeypatch):
    monkeypatch.setattr(pictures, "MAX_SIDE", 50)
    monkeypatch.setattr(pictures, "_BAND", 997)  # many bands, none of which divides the height
    for form in ("PNG", "JPEG"):
        picture = open_picture(encoded(photo(333, 211), form))
        assert picture.size == (50, 32) and close(corners(picture), QUADRANTS)


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
@pytest.mark.parametrize("orientation, upright", [(1, False), (6, True)])
def test_opened_smaller_a_picture_keeps_its_places_and_knows_its_size(form, orientation, upright):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(photo(800, 600), form, exif=exif)
    small, whole = open_picture(data, 200), open_picture(data)
    assert small.size == ((150, 200) if upright else (200, 150)) and close(corners(small), corners(whole))
    assert whole_size(small) == whole.size == whole_size(whole) == ((600, 800) if upright else (800, 600))
    again = open_picture(small, 200)
    assert whole_size(again) == whole.size and digest(again) == digest(small) != digest(whole)
    assert digest(small) != digest(open_picture(np.asarray(small))), "another size is another picture"


def test_a_plain_picture_stands_for_another_of_its_size():
    for image in (open_picture(photo(800, 600), 200), photo()):
        made = plain(image, (1, 2, 3))
        assert made.size == image.size and whole_size(made) == whole_size(image)
        assert whole_size(open_picture(made, 200)) == whole_size(image)
        assert made.getcolors() == [(image.width * image.height, (1, 2, 3))]


def test_a_picture_that_is_small_enough_is_the_same_with_and_without_a_limit():
    data = encoded(photo(), "PNG")
    assert digest(open_picture(data, 64)) == digest(open_picture(data)) and whole_size(open_picture(data, 64)) == (64, 48)
    assert open_picture(data, 9000).size == (64, 48)
    forged = photo()
    forged.info["whole size"] = (9, 9)  # what a file may bring along
    assert whole_size(open_picture(forged, 32)) == (64, 48)


def test_12000_x_9000_stays_within_700_mb(tmp_path):
    path = tmp_path / "big.jpg"
    Image.new("RGB", (12000, 9000), (200, 30, 30)).save(path, quality=50)
    script = (
        "import re, sys; from recap.pictures import open_picture; p = open_picture(sys.argv[1]);"
        # not getrusage: its peak starts with that of the process that ran this one
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1];"
        "print(*p.size, *p.getpixel((9, 9)), int(peak) // 1024)"
    )
    result = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    width, height, red, _, _, megabytes = map(int, result.stdout.split())
    assert (width, height) == (4096, 3072) and red > 190 and megabytes < 700
    assert result.stderr == ""


def bomb(width, height):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(13000, 12000), (60000, 60000), (2**31 - 1, 2**31 - 1)])
def test_decompression_bombs_are_refused_before_decoding(size):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(PictureError, match="pixels, more than the 150,000,000 allowed"):
        open_picture(bomb(*size))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9])
def test_a_truncated_file_gives_a_sentence_that_names_it(form, kept, tmp_path):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8))
    data = encoded(noise, form)
    path = tmp_path / "cut.bin"
    path.write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(PictureError, match="cut.bin") as caught:
        open_picture(path)
    assert "try again" in str(caught.value)


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "empty"),
        (b"hello", "not a picture"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"<svg xmlns='x'/>", "SVG"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1", "HEIC"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture"),
    ],
)
def test_what_is_no_picture_gives_a_sentence(data, words):
    with pytest.raises(PictureError, match=words):
        open_picture(data)


def test_missing_files_folders_and_addresses(tmp_path):
    with pytest.raises(PictureError, match="There is no file .*nothing.png"):
        open_picture(tmp_path / "nothing.png")
    with pytest.raises(PictureError, match="folder"):
        open_picture(tmp_path)
    with pytest.raises(PictureError, match="Web addresses are not fetched"):
        open_picture("http://localhost/x.png")
    with pytest.raises(PictureError, match="opened"):
        open_picture("a\0b")


def test_every_kind_of_source_gives_the_same_picture(tmp_path):
    path = tmp_path / "x.png"
    path.write_bytes(encoded(photo(), "PNG"))
    expected = digest(photo())
    with path.open("rb") as stream:
        data = path.read_bytes()
        sources = [str(path), path, data, bytearray(data), stream, photo(), np.asarray(photo())]
        assert {digest(open_picture(source)) for source in sources} == {expected}
        assert not stream.closed

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    assert digest(open_picture(Pipe(path.read_bytes()))) == expected


def test_text_streams_and_other_types_are_refused():
    with pytest.raises(PictureError, match="binary mode"):
        open_picture(io.StringIO("x"))
    for source in (None, 3, [1, 2]):
        with pytest.raises(TypeError, match="path, bytes, a binary file object"):
            open_picture(source)


def test_arrays():
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    for array in (grey, grey[..., None], np.stack([grey] * 3, -1), np.asfortranarray(grey), grey[::1]):
        assert np.array_equal(np.asarray(open_picture(array))[..., 0], grey)
    alpha = np.zeros((2, 2, 4), np.uint8)
    assert open_picture(alpha).getpixel((0, 0)) == (255, 255, 255)
    for array in (grey.astype(np.float32), *(np.zeros(shape, np.uint8) for shape in ((2, 2, 2), (0, 4), (4,)))):
        with pytest.raises(PictureError, match="uint8"):
            open_picture(array)


def test_a_callers_image_is_left_as_it_is():
    image = photo().convert("RGBA")
    before = image.tobytes()
    open_picture(image)
    assert image.mode == "RGBA" and image.tobytes() == before


def test_digest_depends_on_pixels_mode_and_size_only():
    one, other = photo(), photo()
    other.putpixel((0, 0), (1, 2, 3))
    assert digest(one) == digest(photo()) and len(digest(one)) == 32
    plain = [Image.new("RGB", (2, 3)), Image.new("RGB", (3, 2)), Image.new("L", (2, 9))]
    assert len({digest(image) for image in (one, other, *plain)}) == 5


HEADS = [b"", b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"II*\0", b"RIFF\x20\0\0\0WEBPVP8 ",
         b"P6 9 9 255\n", b"\0\0\1\0\1\0"]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(HEADS))
def test_random_bytes_give_a_picture_or_a_sentence(data, head):
    try:
        picture = open_picture(head + data)
    except PictureError as error:
        assert str(error).endswith(".")
    else:
        assert picture.mode == "RGB" and 0 < max(picture.size) <= pictures.MAX_SIDE


FLIPS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=4)
FILES = {form: encoded(photo(33, 21), form) for form in ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")}


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.floats(0, 1), FLIPS)
def test_damaged_files_give_a_picture_or_a_sentence(form, kept, flips):
    data = bytearray(FILES[form][: int(len(FILES[form]) * kept)])
    for place, value in flips:
        if data:
            data[int(place * (len(data) - 1))] = value
    try:
        assert open_picture(bytes(data)).mode == "RGB"
    except PictureError as error:
        assert str(error).endswith(".")
