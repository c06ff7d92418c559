"""What a good recommendation reason is: pure functions over text, without Prefect, engine or DuckDB."""
