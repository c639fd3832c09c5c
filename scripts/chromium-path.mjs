import { existsSync } from 'node:fs'

const PLACES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** The browser of the tests. It may be missing: developers without one still run everything else. */
export const CHROMIUM = process.env['CHROMIUM_PATH'] ?? PLACES.find(existsSync) ?? '/usr/bin/chromium'
