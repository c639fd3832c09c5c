// guiche.ts: the client, made once. It repeats what failed on the way.

import { makeGuiche } from '@guiche/sdk'

const { GUICHE_URL = '', GUICHE_KEY = '' } = process.env

export const guiche = makeGuiche({ url: GUICHE_URL, key: GUICHE_KEY })
