/**
 * Fits the settings of a picture to the model, by the catalogue's tables. A value that the model knows
 * passes. A value with a replacement in the table is replaced and reported. For any other value the call is
 * refused, and the error lists the known ones. Pictures are never converted afterwards.
 */
import type { Capabilities, ImageSettings } from '../../../core/index.ts';
import { refuse, type Lose } from './losses.ts';

type Image = NonNullable<Capabilities['image']>;
type SizeRules = NonNullable<Image['sizeRules']>;

/** Whether an unlisted size, such as "1024x768", obeys the model's rules for sizes. */
function isAllowedSize(rules: SizeRules, size: string): boolean {
  const [, width, height] = /^([1-9]\d{0,5})x([1-9]\d{0,5})$/.exec(size)?.map(Number) ?? [];
  if (width === undefined || height === undefined) return false;
  const [short, long] = width < height ? [width, height] : [height, width];
  const pixels = short * long;
  const fits = short % rules.multiple === 0 && long % rules.multiple === 0 && long <= rules.longestEdge;
  return fits && long <= short * rules.mostRatio && pixels >= rules.leastPixels && pixels <= rules.mostPixels;
}

function describeRules({ multiple, longestEdge, leastPixels, mostPixels, mostRatio }: SizeRules): string {
  return (
    `, or a width and a height that are multiples of ${multiple}, ${longestEdge} at most, with ` +
    `${leastPixels} to ${mostPixels} pixels in all and one at most ${mostRatio} times the other`
  );
}

/** Settings with a table: the setting, its table, and the field that clients write. */
const rows = [
  ['size', 'sizes', 'size'],
  ['quality', 'qualities', 'quality'],
  ['format', 'formats', 'output_format'],
  ['background', 'backgrounds', 'background'],
] as const;

type Fitted = Pick<ImageSettings, (typeof rows)[number][0]>;

/** The value that the table has for a setting; undefined if it has none. */
function lookUp(table: Readonly<Record<string, string>>, asked: string): string | undefined {
  return Object.hasOwn(table, asked) ? table[asked] : undefined;
}

/** The values to send. Throws `unsupported_parameter` with the values that the model knows. */
export function fitSettings(asked: ImageSettings, { image }: Capabilities, lose: Lose): Fitted {
  const fitted: Fitted = {};
  for (const [name, table, field] of rows) {
    const value = asked[name];
    if (value === undefined) continue;
    const sent = image ? fitValue(image, name, table, value) : value;
    // A model without "auto" chooses the quality itself if the call has none.
    if (sent === undefined && name === 'quality' && value === 'auto') continue;
    if (sent === undefined) {
      const rules = name === 'size' && image?.sizeRules ? describeRules(image.sizeRules) : '';
      const known = Object.keys(image?.[table] ?? {}).map((each) => `"${each}"`);
      refuse(
        field,
        `"${field}" is "${value.slice(0, 60)}", which this model does not have: send ` +
          `${known.length > 1 ? 'one of ' : ''}${known.join(', ')}${rules}.`,
      );
    }
    if (sent !== value) lose(`image.${name}`, `made as "${sent}"`, 'approximated');
    fitted[name] = sent;
  }
  return fitted;
}

function fitValue(
  image: Image,
  name: keyof Fitted,
  table: (typeof rows)[number][1],
  value: string,
): string | undefined {
  const listed = lookUp(image[table], value);
  return listed === undefined && name === 'size' && image.sizeRules && isAllowedSize(image.sizeRules, value)
    ? value
    : listed;
}

/** The value that the model used for a setting, as the reply reports it. */
export function resolveSetting(
  name: 'size' | 'quality' | 'background',
  asked: ImageSettings,
  image: Capabilities['image'],
): string {
  const value = asked[name] ?? 'auto';
  const [, table] = rows.find(([each]) => each === name) ?? rows[0];
  return (image && lookUp(image[table], value)) ?? value;
}

/** Reports all settings as lost, except those that were sent. */
export function loseSettings(settings: ImageSettings | undefined, sent: readonly string[], lose: Lose): void {
  for (const [name, value] of Object.entries(settings ?? {}))
    if (value !== undefined && !sent.includes(name))
      lose(`image.${name}`, 'the protocol of this model has no such field');
}
