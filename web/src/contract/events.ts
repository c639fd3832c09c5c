// Generated from the server’s schemas: UPDATE_CONTRACT=1 npx vitest run server/test/contract.test.ts

export const EVENT_NAMES = {
  DEPOSIT_ASSET_SUCCESS: ['Depósito pago', 'Deposit paid'],
  DEPOSIT_REFUNDED: ['Depósito devolvido', 'Deposit refunded'],
  WEBHOOK_TEST: ['Teste', 'Test'],
} as const

export const EVENT_EXAMPLES = {
  DEPOSIT_ASSET_SUCCESS: {
    id: 'evt_DEPOSIT_ASSET_SUCCESS_0199a3c2f4b87d6e9b1a5c0d3e2f4a68',
    event: 'DEPOSIT_ASSET_SUCCESS',
    createdAt: '2026-01-31T12:01:08.000Z',
    data: {
      transactionId: '0199a3c2f4b87d6e9b1a5c0d3e2f4a68',
      paymentLinkId: '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57',
      externalId: 'order-1042',
      value: 5000,
      originalValue: 5000,
      fee: 50,
      creditedValue: 4950,
      status: 'COMPLETED',
      paidLate: false,
      endToEndId: 'E12345678202601311201s0123456789',
      paidAt: '2026-01-31T12:01:07.000Z',
    },
  },
  DEPOSIT_REFUNDED: {
    id: 'evt_DEPOSIT_REFUNDED_5f2d0c8be1a94376a3c1d0e7b2984f6c',
    event: 'DEPOSIT_REFUNDED',
    createdAt: '2026-01-31T12:01:08.000Z',
    data: {
      transactionId: '0199a3c2f4b87d6e9b1a5c0d3e2f4a68',
      paymentLinkId: '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57',
      externalId: 'order-1042',
      refundId: '0199a3d07c5e7b1f8a2d4c6e9f0b1a35',
      refundedValue: 2500,
      totalRefundedValue: 2500,
      value: 5000,
      returnedFee: 0,
      status: 'COMPLETED',
      endToEndId: 'E12345678202601311201s0123456789',
      refundedAt: '2026-01-31T12:30:04.000Z',
    },
  },
  WEBHOOK_TEST: {
    id: 'evt_WEBHOOK_TEST_0199a3c31d4e7f20b6a85c9e1d3f7a42',
    event: 'WEBHOOK_TEST',
    createdAt: '2026-01-31T12:01:08.000Z',
    data: { message: 'guiche can reach this address. Nothing was paid.' },
  },
} as const
