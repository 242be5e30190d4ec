"""The folder of the sockets outside of the data folder: private to its owner."""

import os

import pytest

from cli.supervisor.preflight import CannotStart, claim_folder, create_folders, require_private
from core.settings import Settings


def test_folder_of_ones_own_is_taken(tmp_path):
    create_folders(tmp_path / "run")
    require_private(tmp_path / "run")


def test_link_to_a_folder_is_refused(tmp_path):
    create_folders(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with pytest.raises(PermissionError):
        require_private(tmp_path / "link")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_start_is_refused_where_somebody_made_the_folder_of_the_sockets_first(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    settings = Settings(_env_file=None, data_dir=tmp_path / ("long" * 20) / ("path" * 10))
    assert settings.runtime_dir.parent == tmp_path
    settings.runtime_dir.mkdir(mode=0o777)
    os.chown(settings.runtime_dir, 12345, 12345)
    with pytest.raises(CannotStart):
        claim_folder(settings)
