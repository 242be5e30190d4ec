"""The number formats that this machine's processor multiplies fast."""

import platform
from dataclasses import dataclass
from pathlib import Path

_AMD = "AuthenticAMD"


@dataclass(frozen=True)
class Processor:
    """A processor's vendor (e.g. ``GenuineIntel``; empty if unknown) and instruction sets, named as by the Linux
    kernel.
    """

    vendor: str
    flags: frozenset[str]

    @property
    def has_amx(self) -> bool:
        """Whether it multiplies whole tiles of bfloat16, as Intel's server processors do."""
        return "amx_bf16" in self.flags

    @property
    def is_fast_in_bf16(self) -> bool:
        """Whether bfloat16 is faster than float32.

        AMD's AVX-512 is, and Intel's AMX. Without AMX, which virtual machines may hide, an Intel Xeon was measured to
        multiply it at half the speed of float32 (docs/decisions/0061).
        """
        return self.has_amx or (self.vendor == _AMD and "avx512_bf16" in self.flags)

    @property
    def is_fast_in_int8(self) -> bool:
        """Whether it multiplies 8-bit integers faster than float32: AVX2 and later."""
        return "avx2" in self.flags


def detect_processor(listing: Path = Path("/proc/cpuinfo")) -> Processor:
    """This machine's processor; without vendor and flags outside Linux."""
    facts: dict[str, str] = {}
    if platform.system() == "Linux" and listing.exists():
        for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            # All cores are alike, or the system may move a program between them.
            facts.setdefault(name.strip(), value.strip())
    return Processor(facts.get("vendor_id", ""), frozenset(facts.get("flags", "").split()))
