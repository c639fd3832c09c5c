<?php
require __DIR__ . '/guiche.php';

try {
    call('PUT', '/api/orders/order-1042/deposit', ['value' => 9900]);
} catch (GuicheError $error) {
    if ($error->reason !== 'order_paid') throw $error;
    echo $error->reason, "\n";
}
