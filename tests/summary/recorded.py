"""What tests/oracle/record_summary.py recorded."""

from pathlib import Path

from oracle import golden

RECORDED = golden.read(Path(__file__).parent.parent / "golden" / "summary" / "summary.json.gz")
