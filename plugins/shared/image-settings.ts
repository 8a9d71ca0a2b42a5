/**
 * Fits the settings of a picture to the model, by the catalogue's tables. A value that the model knows passes; one that
 * has a replacement in the table is replaced and told as such; any other value refuses the call, and the error names the
 * values that there are. Pictures are never converted afterwards.
 */
import { GatewayError, type Capabilities, type ImageSettings } from '../../core/index.ts';
import type { Lose } from './losses.ts';

/** Settings that have a table, with the name of the table and the field that clients write. */
const rows = [
  ['size', 'sizes', 'size'],
  ['quality', 'qualities', 'quality'],
  ['format', 'formats', 'output_format'],
  ['background', 'backgrounds', 'background'],
] as const;

type Fitted = Pick<ImageSettings, (typeof rows)[number][0]>;

/** The value that a setting becomes at a model; undefined where the model has no such value. */
function standIn(table: Readonly<Record<string, string>>, asked: string): string | undefined {
  return Object.hasOwn(table, asked) ? table[asked] : undefined;
}

/** The values to send. Throws `unsupported_parameter` with the values that may be asked for. */
export function fitSettings(asked: ImageSettings, { image }: Capabilities, lose: Lose): Fitted {
  const fitted: Fitted = {};
  for (const [name, table, field] of rows) {
    const value = asked[name];
    if (value === undefined) continue;
    const sent = image ? standIn(image[table], value) : value;
    if (sent === undefined) {
      const known = Object.keys(image?.[table] ?? {}).map((each) => `"${each}"`);
      throw new GatewayError(
        'unsupported_parameter',
        `"${field}" is "${value}", which this model does not have: send ${known.length > 1 ? 'one of ' : ''}${known.join(', ')}.`,
        { param: field },
      );
    }
    if (sent !== value) lose(`image.${name}`, `made as "${sent}"`, 'approximated');
    fitted[name] = sent;
  }
  return fitted;
}

/** The value that was used in place of the one asked for. */
export function usedValue(name: 'size' | 'quality' | 'background', asked: ImageSettings, image: Capabilities['image']): string {
  const value = asked[name] ?? 'auto';
  const [, table] = rows.find(([each]) => each === name) ?? rows[0];
  return (image && standIn(image[table], value)) ?? value;
}

/** Tells all settings as lost, except those that were sent. */
export function loseSettings(settings: ImageSettings | undefined, sent: readonly (keyof ImageSettings)[], lose: Lose): void {
  for (const name of ['size', 'quality', 'format', 'compression', 'background', 'partials', 'moderation', 'fidelity'] as const) {
    if (settings?.[name] !== undefined && !sent.includes(name)) lose(`image.${name}`, 'the protocol of this model has no such field');
  }
}
