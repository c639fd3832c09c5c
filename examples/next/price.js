export const PRICE_CENTS = 50_00
