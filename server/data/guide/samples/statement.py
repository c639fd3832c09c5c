from guiche import call

period, cursor = "from=2026-01-01&to=2026-01-31", ""
while cursor is not None:
    page = call("GET", f"/api/statement?{period}&limit=100{cursor and f'&cursor={cursor}'}")
    if not cursor:
        print(page["openingBalance"], page["closingBalance"])
    for line in page["lines"]:
        print(line["kind"], line["net"], line["externalId"])
    cursor = page["nextCursor"]
