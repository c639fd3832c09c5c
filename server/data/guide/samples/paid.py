from guiche import call

link = call("PUT", "/api/orders/order-1042/deposit", {"value": 5000})["deposit"]["paymentLinkId"]
deposit = call("GET", f"/api/deposits/{link}")["deposit"]
if deposit["status"] == "COMPLETED":
    print(f"paid, {deposit['creditedValue']} cents credited")
elif deposit["heldValue"] > 0:
    print(f"{deposit['heldValue']} cents are under review: do not ask for another payment")
else:
    print(deposit["status"])
