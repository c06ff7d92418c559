"""The rules that spare a pair the model: a file that a merchandiser edits, and what it does to a date's candidates.

`file.py` reads and checks it, `lines.py` finds the line of a mistake, `match.py` applies it, `account.py` counts what
each rule did to a date, `trial.py` what another file would have done to past dates.
"""
