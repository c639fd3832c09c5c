import type { Command } from 'commander'
import { addCommand } from './arguments.ts'
import type { Terminal } from './terminal.ts'

export function openapiCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'openapi', '> openapi.json')
    .description('print the OpenAPI document of the API')
    .action(async () => {
      const { renderOpenapi } = await import('../http/render-openapi.ts')
      terminal.print(await renderOpenapi())
    })
}
