/** Runs `tollgate check` on several configurations in one process, and prints a list of its findings. */
import { pino } from 'pino';
import { loadConfig } from '../../core/cli/load-config.ts';
import { createGateway } from '../../core/gateway.ts';

async function checkFile(file: string): Promise<string> {
  try {
    const gateway = createGateway(await loadConfig(file), pino({ level: 'silent' }));
    await gateway.check();
    const { lacks } = gateway.describe();
    await gateway.close();
    return lacks.join('\n');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const messages: string[] = [];
for (const argument of process.argv.slice(2)) {
  const [file = '', ...variables] = argument.split('|');
  const before = { ...process.env };
  for (const variable of variables)
    process.env[variable.split('=')[0] ?? ''] = variable.slice(variable.indexOf('=') + 1);
  messages.push(await checkFile(file));
  process.env = before;
}
process.stdout.write(JSON.stringify(messages));
