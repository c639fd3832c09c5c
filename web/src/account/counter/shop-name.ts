import { useMe } from '../../base/session.ts'
import { useShop } from '../shop/shop.ts'

/** As payers read it. */
export function useShopName(): string {
  const me = useMe()
  const shop = useShop().data?.shop
  return shop?.name ?? me.accounts.find(({ accountId }) => accountId === me.accountId)?.name ?? me.name
}
