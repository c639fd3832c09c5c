from guiche import call

deposits = call("GET", "/api/orders/order-1042")["deposits"]
link = next(deposit["paymentLinkId"] for deposit in deposits if deposit["status"] == "COMPLETED")
refund = call(
    "POST",
    f"/api/deposit/{link}/refund",
    {"value": 2000, "reason": "One item was returned"},
    key="return-77",
)["refund"]
print(refund["value"], refund["status"])
