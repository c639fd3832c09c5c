import { guiche } from './guiche.ts'

let cursor = '0' // the one that you stored; 0 is the beginning
for (;;) {
  const page = await guiche.events.after({ after: cursor, limit: 100 })
  for (const event of page.events) console.log(event.position, event.event)
  cursor = page.next // store it, in the transaction of your work
  if (page.done) break
}
