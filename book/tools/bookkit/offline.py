"""The site as one file to take along: unpack it, open index.html, no server and no network needed."""

import zipfile
from pathlib import Path

ARCHIVE = "attention-step-by-step.zip"
EPOCH = (1980, 1, 1, 0, 0, 0)
# They speak of the published address and mean nothing on a disk.
LEFT_OUT = {ARCHIVE, "404.html", "sitemap.xml", "robots.txt", ".buildinfo", "objects.inv"}


def write_archive(site: Path) -> Path:
    """Pack a built site into a file inside it, equal bytes for equal pages.

    Args:
        site: the folder with index.html.

    Returns:
        The zip file. Everything in it lies in one folder, so that unpacking never litters.
    """
    path = site / ARCHIVE
    path.unlink(missing_ok=True)
    files = sorted(file for file in site.rglob("*") if file.is_file())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in files:
            name = file.relative_to(site).as_posix()
            if name in LEFT_OUT or name.startswith("_static/cards/"):
                continue
            info = zipfile.ZipInfo(f"{path.stem}/{name}", EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, file.read_bytes(), compresslevel=9)
    return path
