<?php
require __DIR__ . '/guiche.php';

$link = call('PUT', '/api/orders/order-1042/deposit', ['value' => 5000])['deposit']['paymentLinkId'];
$deposit = call('GET', "/api/deposits/$link")['deposit'];
echo match (true) {
    $deposit['status'] === 'COMPLETED' => "paid, {$deposit['creditedValue']} cents credited\n",
    $deposit['heldValue'] > 0 => "{$deposit['heldValue']} cents are under review: do not ask for another payment\n",
    default => "{$deposit['status']}\n",
};
