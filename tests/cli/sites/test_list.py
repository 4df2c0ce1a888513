"""``gpu-tools sites list``."""

from gpu_tools.cli.main import main
from gpu_tools.sites.model import load_sites, shipped_sites


def test_every_shipped_model_is_listed(capsys):
    assert main(["sites", "list"]) == 0
    header, *lines = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    rows = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert list(rows) == shipped_sites()
    for name, row in rows.items():
        model = load_sites(name)
        assert row["shortest_intron"] == str(model.shortest_intron)
        assert row["source"] == model.source
        assert row["usual_from"] == str(model.introns[0].penalties[-1][0])
        assert row["intron_penalty"] == str(model.introns[0].penalties[-1][1])
    assert rows["arabidopsis"]["rising"].startswith("0:256,4:2048")
    assert (rows["worm"]["donors_per_kb"], rows["fly"]["donors_per_kb"]) == (".", "78.33")
