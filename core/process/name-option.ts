/** Names an option in a message: with the variable that sets it, if the configuration file reads that one. */
import { existsSync, readFileSync } from 'node:fs';

const variables = { dataFolder: 'TOLLGATE_DATA', 'server.port': 'PORT', 'server.host': 'HOST' } as const;

export function nameOption(file: string, option: keyof typeof variables): string {
  const variable = variables[option];
  const isRead = existsSync(file) && new RegExp(`\\b${variable}\\b`).test(readFileSync(file, 'utf8'));
  return isRead ? `${option} (${variable})` : option;
}
