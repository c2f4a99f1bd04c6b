STATUSES: dict[str, int]
