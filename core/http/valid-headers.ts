/** Whether Node would send a head: it throws at one it does not, in the middle of a reply. */
import { validateHeaderName, validateHeaderValue } from 'node:http';

/** What is wrong with headers; undefined: they can be sent. */
export function headersFault(headers: object): string | undefined {
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether it is a status that a reply can end with. */
export function isStatus(status: unknown): boolean {
  return typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599;
}
