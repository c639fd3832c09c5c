import type { Command } from 'commander'
import { examples } from './arguments.ts'
import type { Terminal } from './terminal.ts'

export function openapiCommand(program: Command, terminal: Terminal): void {
  program
    .command('openapi')
    .description('print the OpenAPI document of the API')
    .addHelpText(...examples(['openapi > openapi.json']))
    .action(async () => {
      const { renderOpenapi } = await import('../http/render-openapi.ts')
      terminal.print(await renderOpenapi())
    })
}
