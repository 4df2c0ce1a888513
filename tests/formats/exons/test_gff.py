"""Lines of GFF3 and GTF: attributes of every spelling."""

import pytest

from gpu_tools.formats.exons.gff import features

LONG = 200_000


def attribute(text, key="ID"):
    line = "\t".join(["c", "x", "exon", "1", "2", ".", "+", ".", text])
    (feature,) = features("x.gff3", [(1, line)])
    return feature.attribute(key)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ID=a", "a"), ("x=1;ID=a;ID=b", "a"), (" ID=a b ; x", "a b"), ("ID=", ""), ("ID", None),
        ('ID "a"; x "b";', "a"), ('x "b";  ID  "a b"', "a b"), ("ID a", "a"), ("xID=a", None),
        ("IDx=a", None), ('ID="a"', "a"), ('ID="a', '"a'), ("", None), (".", None),
        (";;ID=a;", "a"), ('ID ""', ""),
    ],
)  # fmt: skip
def test_attributes(text, value):
    assert attribute(text) == value


@pytest.mark.parametrize("text", ["ID" + " " * LONG + "\x00;", ";" * LONG, '"' * LONG, " " * LONG])
def test_attributes_that_are_long(text):
    """A pattern that tries each blank together with each other takes minutes here."""
    assert attribute(text, "exon_type") is None
