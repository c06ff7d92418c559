"""What the reports are made of: the day page, its rows and charts, the index of all dates, in two languages."""
