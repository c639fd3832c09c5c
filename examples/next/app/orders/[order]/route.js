import { goodsOf } from '../../../store.js'

export async function GET(_request, { params }) {
  return Response.json({ goods: goodsOf((await params).order) })
}
