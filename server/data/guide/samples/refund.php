<?php
require __DIR__ . '/guiche.php';

$deposits = call('GET', '/api/orders/order-1042')['deposits'];
$paid = array_values(array_filter($deposits, fn ($deposit) => $deposit['status'] === 'COMPLETED'))[0];
$refund = call(
    'POST',
    "/api/deposit/{$paid['paymentLinkId']}/refund",
    ['value' => 2000, 'reason' => 'One item was returned'],
    key: 'return-77',
)['refund'];
echo $refund['value'], ' ', $refund['status'], "\n";
