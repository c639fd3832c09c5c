from guiche import call

added = call("POST", "/api/webhooks", {
    "url": "https://shop.example.com/guiche",
    "events": ["DEPOSIT_ASSET_SUCCESS", "DEPOSIT_EXPIRED", "DEPOSIT_HELD", "DEPOSIT_RELEASED"],
})
# Store the secret: it is shown only here.
print(added["webhook"]["id"], added["secret"], added["test"])
