<?php
require __DIR__ . '/guiche.php';

$added = call('POST', '/api/webhooks', [
    'url' => 'https://shop.example.com/guiche',
    'events' => ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_EXPIRED', 'DEPOSIT_HELD', 'DEPOSIT_RELEASED'],
]);
// Store the secret: it is shown only here.
echo $added['webhook']['id'], ' ', $added['secret'], ' ', json_encode($added['test']), "\n";
