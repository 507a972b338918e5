"""`python -m softlabel` is the `softlabel` command."""

from softlabel.cli import main

main()
