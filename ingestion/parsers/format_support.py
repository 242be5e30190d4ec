"""Which formats a server reads beside those of our own parsers."""

from dataclasses import dataclass

from ingestion.parsers import IMAGE_TYPES
from ingestion.parsers.conversion.formats import ConvertedFormat
from ingestion.parsers.conversion.state import Conversion


@dataclass(frozen=True, slots=True)
class FormatSupport:
    """What is read of ``conversion.formats.CONVERTED_FORMATS``, and of pictures.

    Attributes:
        conversion: Whether LibreOffice converts the former.
        also_read: Media types that another parser reads without a conversion, and ours do not.
    """

    conversion: Conversion = Conversion.OFF
    also_read: frozenset[str] = frozenset()

    def accepts(self, form: ConvertedFormat) -> bool:
        """Whether files of a format are read now."""
        return self.conversion is Conversion.ON or form.media_type in self.also_read

    def lists(self, form: ConvertedFormat) -> bool:
        """Whether a source has documents of a format.

        Where LibreOffice is only missing it has them: a source must not lose its documents by that.
        """
        return self.conversion is not Conversion.OFF or form.media_type in self.also_read


OURS_ONLY = FormatSupport()
EVERYTHING = FormatSupport(Conversion.ON, IMAGE_TYPES)
"""For a machine that does not know what the server reads."""
