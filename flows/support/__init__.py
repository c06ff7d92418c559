"""What flows need beside their stages: the console, tables, logs, events, threads, and Prefect's server and UI."""
