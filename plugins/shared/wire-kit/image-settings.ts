/**
 * Fits the settings of a picture to the model, by the catalogue's tables. A value that the model knows passes; one that
 * has a replacement in the table is replaced and told as such; any other value refuses the call, and the error names the
 * values that there are. Pictures are never converted afterwards.
 */
import { GatewayError, type Capabilities, type ImageSettings } from '../../../core/index.ts';
import type { Lose } from './losses.ts';

type Image = NonNullable<Capabilities['image']>;
type SizeRules = NonNullable<Image['sizeRules']>;

/** Whether a size that is not listed keeps to the rules that a model has for any. */
function keepsTo(rules: SizeRules, size: string): boolean {
  const [, width, height] = /^([1-9]\d{0,5})x([1-9]\d{0,5})$/.exec(size)?.map(Number) ?? [];
  if (width === undefined || height === undefined) return false;
  const [short, long] = width < height ? [width, height] : [height, width];
  const pixels = short * long;
  const fits = short % rules.multiple === 0 && long % rules.multiple === 0 && long <= rules.longestEdge;
  return fits && long <= short * rules.mostRatio && pixels >= rules.leastPixels && pixels <= rules.mostPixels;
}

function told({ multiple, longestEdge, leastPixels, mostPixels, mostRatio }: SizeRules): string {
  return `, or a width and a height that are multiples of ${multiple}, ${longestEdge} at most, with ${leastPixels} to ${mostPixels} pixels in all and one at most ${mostRatio} times the other`;
}

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
    const sent = image ? valueAt(image, name, table, value) : value;
    if (sent === undefined) {
      const rules = name === 'size' && image?.sizeRules ? told(image.sizeRules) : '';
      const known = Object.keys(image?.[table] ?? {}).map((each) => `"${each}"`);
      throw new GatewayError(
        'unsupported_parameter',
        `"${field}" is "${value.slice(0, 60)}", which this model does not have: send ${known.length > 1 ? 'one of ' : ''}${known.join(', ')}${rules}.`,
        { param: field },
      );
    }
    if (sent !== value) lose(`image.${name}`, `made as "${sent}"`, 'approximated');
    fitted[name] = sent;
  }
  return fitted;
}

function valueAt(
  image: Image,
  name: keyof Fitted,
  table: (typeof rows)[number][1],
  value: string,
): string | undefined {
  const listed = standIn(image[table], value);
  return listed === undefined && name === 'size' && image.sizeRules && keepsTo(image.sizeRules, value)
    ? value
    : listed;
}

/** The value that was used in place of the one asked for. */
export function usedValue(
  name: 'size' | 'quality' | 'background',
  asked: ImageSettings,
  image: Capabilities['image'],
): string {
  const value = asked[name] ?? 'auto';
  const [, table] = rows.find(([each]) => each === name) ?? rows[0];
  return (image && standIn(image[table], value)) ?? value;
}

/** Tells all settings as lost, except those that were sent. */
export function loseSettings(
  settings: ImageSettings | undefined,
  sent: readonly (keyof ImageSettings)[],
  lose: Lose,
): void {
  for (const name of [
    'size',
    'quality',
    'format',
    'compression',
    'background',
    'partials',
    'moderation',
    'fidelity',
  ] as const) {
    if (settings?.[name] !== undefined && !sent.includes(name))
      lose(`image.${name}`, 'the protocol of this model has no such field');
  }
}
