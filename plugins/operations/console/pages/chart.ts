/**
 * Charts as SVG: stacked bars over time, of which every segment can be a link, and lines. A tooltip lists
 * the values at the pointer. The table beside a chart has the same figures for people who cannot see it.
 */
import { type ComponentChildren, html, useSignal } from './kit.ts';

/** Series have the colours of the style sheet, from 0 on; those beyond the last share it. */
const mostColours = 8;

export function getColourClass(index: number): string {
  return `series-${Math.min(index, mostColours - 1)}`;
}

export interface Series {
  readonly name: string;
  readonly values: readonly number[];
  /** The values as they are shown, if they are more than numbers. */
  readonly texts?: readonly string[];
  /** The number of its colour. */
  readonly colour: number;
  readonly isDashed?: boolean;
  /** Where the segment of a bucket leads. */
  buildHref?(bucket: number): string;
}

interface ChartProps {
  readonly label: string;
  /** The name of each bucket. */
  readonly buckets: readonly string[];
  /** What is written below each bucket, if not the names of some. */
  readonly ticks?: readonly (string | undefined)[] | undefined;
  readonly series: readonly Series[];
  format(value: number): string;
  readonly kind: 'bars' | 'lines';
  /** Where a bucket of lines leads. */
  buildHref?(bucket: number): string;
}

const height = 220;
/** Rows of a tooltip: the twelve series of an overview, and all others. */
const mostRows = 13;

/** A round number at or above a value, so that the axis has plain figures. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

/** Parts of the height, from the bottom: where each series' segment of a bucket begins and ends. */
function stackSeries(series: readonly Series[], bucket: number, top: number): { from: number; to: number }[] {
  let from = 0;
  return series.map(({ values }) => {
    const part = { from, to: from + (values[bucket] ?? 0) / top };
    from = part.to;
    return part;
  });
}

function renderBars({ series, buckets }: ChartProps, top: number) {
  return buckets.map((name, bucket) => {
    const parts = stackSeries(series, bucket, top);
    return series.map((each, index) => {
      const { from = 0, to = 0 } = parts[index] ?? {};
      if (to <= from) return null;
      const rect = html`<rect
        class=${getColourClass(each.colour)}
        x=${bucket + 0.1}
        width="0.8"
        y=${(1 - to) * height}
        height=${(to - from) * height}
      />`;
      const href = each.buildHref?.(bucket);
      return href
        ? html`<a href=${href} tabindex="-1" aria-label=${`${each.name}, ${name}`}>${rect}</a>`
        : rect;
    });
  });
}

function renderLines({ series }: ChartProps, top: number) {
  return series.map(({ values, colour, isDashed }) => {
    const points = values.flatMap((value, bucket) =>
      Number.isFinite(value) ? [`${bucket + 0.5},${(1 - value / top) * height}`] : [],
    );
    // A single point is drawn twice: round ends make it a dot.
    const drawn = points.length === 1 ? [...points, ...points] : points;
    const style = `line ${isDashed ? 'dashed' : ''} ${getColourClass(colour)}`;
    return html`<polyline class=${style} points=${drawn.join(' ')} />`;
  });
}

/** The times under lines, each a link over the whole height. */
function renderLinks({ buckets, buildHref }: ChartProps) {
  return (
    buildHref &&
    buckets.map(
      (name, bucket) =>
        html`<a href=${buildHref(bucket)} tabindex="-1" aria-label=${name}
          ><rect class="hit" x=${bucket} width="1" height=${height}
        /></a>`,
    )
  );
}

function Tip({ props, bucket }: { readonly props: ChartProps; readonly bucket: number }): ComponentChildren {
  const { series, buckets, format, kind } = props;
  const side = bucket > buckets.length / 2 ? 'right' : 'left';
  const at = side === 'left' ? (bucket + 1) / buckets.length : 1 - bucket / buckets.length;
  const rows = series.filter(({ values }) => (values[bucket] ?? 0) > 0);
  return html`<div class="tip" style=${{ [side]: `calc(${at * 100}% + 8px)` }}>
    <strong>${buckets[bucket]}</strong>
    ${rows
      .slice(0, mostRows)
      .map(
        ({ name, values, texts, colour }) =>
          html`<div>
            <i class=${getColourClass(colour)}></i><span>${name}</span
            ><b>${texts?.[bucket] ?? format(values[bucket] ?? 0)}</b>
          </div>`,
      )}
    ${
      kind === 'bars' &&
      rows.length > 1 &&
      html`<div>
        <span>Total</span><b>${format(rows.reduce((all, { values }) => all + (values[bucket] ?? 0), 0))}</b>
      </div>`
    }
    ${rows.length > mostRows && html`<span class="dim">and ${rows.length - mostRows} more</span>`}
    ${rows.length === 0 && html`<span class="dim">Nothing</span>`}
  </div>`;
}

export function Chart(props: ChartProps) {
  const { label, buckets, series, format, kind } = props;
  const hovered = useSignal<number | undefined>(undefined);
  const highest =
    kind === 'bars'
      ? buckets.map((_, bucket) => series.reduce((total, { values }) => total + (values[bucket] ?? 0), 0))
      : series.flatMap(({ values }) => values.filter(Number.isFinite));
  const top = roundUp(highest.reduce((most, value) => Math.max(most, value), 0));
  const onMove = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const box = event.currentTarget.getBoundingClientRect();
    const bucket = Math.floor(((event.clientX - box.left) / box.width) * buckets.length);
    hovered.value = bucket >= 0 && bucket < buckets.length ? bucket : undefined;
  };
  const every = Math.max(1, Math.ceil(buckets.length / 6));
  const ticks = props.ticks ?? buckets.map((name, index) => (index % every === 0 ? name : undefined));
  return html`<figure class="chart" aria-label=${label}>
    <div class="axis" aria-hidden="true">
      <span>${format(top)}</span><span>${format(top / 2)}</span><span>0</span>
    </div>
    <div class="plot" onMouseMove=${onMove} onMouseLeave=${() => (hovered.value = undefined)}>
      <svg
        role="group"
        aria-label=${label}
        viewBox=${`0 0 ${Math.max(1, buckets.length)} ${height}`}
        preserveAspectRatio="none"
        height=${height}
      >
        ${kind === 'bars' ? renderBars(props, top) : [renderLines(props, top), renderLinks(props)]}
      </svg>
      ${hovered.value !== undefined && html`<${Tip} props=${props} bucket=${hovered.value} />`}
    </div>
    <div class="ticks" aria-hidden="true">
      ${ticks.map(
        (name, index) =>
          name !== undefined &&
          html`<span style=${{ left: `${((index + 0.5) / buckets.length) * 100}%` }}>${name}</span>`,
      )}
    </div>
  </figure>`;
}
