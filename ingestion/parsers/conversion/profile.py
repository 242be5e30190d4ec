"""LibreOffice's settings for a conversion: no macros, no updates of links, no proxies, no Java.

The process can't do these things either (``confinement``); where a system lacks the means for that, the settings still
hold.
"""

from pathlib import Path

_COMMON = "org.openoffice.Office.Common"
_SETTINGS = (
    (f"{_COMMON}/Security/Scripting", "MacroSecurityLevel", "3"),
    (f"{_COMMON}/Security/Scripting", "DisableMacrosExecution", "true"),
    (f"{_COMMON}/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    (f"{_COMMON}/Load", "UpdateDocMode", "0"),
    ("org.openoffice.Office.Writer/Content/Update", "Link", "2"),
    ("org.openoffice.Office.Calc/Content/Update", "Link", "2"),
    ("org.openoffice.Office.Java/VirtualMachine", "Enable", "false"),
    ("org.openoffice.Inet/Settings", "ooInetProxyType", "0"),
)
_FILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" \
xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
{items}
</oor:items>
"""
_ITEM = '<item oor:path="/{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'


def write_profile(folder: Path) -> None:
    """Write a profile with these settings into a new folder."""
    user = folder / "user"
    user.mkdir(parents=True)
    items = "\n".join(_ITEM.format(path=path, name=name, value=value) for path, name, value in _SETTINGS)
    (user / "registrymodifications.xcu").write_text(_FILE.format(items=items), encoding="utf-8")
