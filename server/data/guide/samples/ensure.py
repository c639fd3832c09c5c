from guiche import call

deposit = call("PUT", "/api/orders/order-1042/deposit", {"value": 5000})["deposit"]
print(deposit["status"], deposit["paymentLinkUrl"])
