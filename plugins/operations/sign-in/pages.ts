/** The few pages of sign-in that need no console and no script: a device's code, and what went wrong. */
import { createHash } from 'node:crypto';
import { toGatewayError, type RouteReply } from '../../../core/index.ts';
import { noStore } from '../../shared/operator-routes.ts';
import { buildPageHeaders } from '../../shared/page-headers.ts';

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; display: grid; place-items: center; min-height: 100vh; background: Canvas; }
main { max-width: 26rem; margin: 1rem; padding: 1.5rem 2rem; border: 1px solid #8886; border-radius: 10px; }
h1 { font-size: 1.25rem; margin: 0 0 .75rem; }
label { display: block; margin: .75rem 0 .25rem; }
input, select, button { font: inherit; padding: .45rem .7rem; border-radius: 6px; border: 1px solid #8888; }
input, select { width: 100%; box-sizing: border-box; }
button { cursor: pointer; margin: 1rem .5rem 0 0; }
button.main { background: #0b6e5f; color: #fff; border-color: #0b6e5f; }
code { font-size: 1.4rem; letter-spacing: .12em; }
.dim { color: color-mix(in srgb, CanvasText 65%, Canvas); }
`;
const styleHash = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);
}

interface Page {
  readonly title: string;
  /** HTML. */
  readonly body: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A path of ours that the browser goes to at once. */
  readonly next?: string;
}

/**
 * A page. The browser follows `next` as a link of our own site, and so sends the cookie that it gets here; it
 * would not after a redirect that began at another site.
 */
export function buildPage({ title, body, status = 200, headers = {}, next }: Page): RouteReply {
  const refresh = next === undefined ? '' : `<meta http-equiv="refresh" content="0;url=${escapeHtml(next)}">`;
  return {
    status,
    headers: {
      ...buildPageHeaders('', styleHash, "'self'"),
      ...noStore,
      // Without a referrer browsers do not name the origin of a form either.
      'referrer-policy': 'same-origin',
      ...headers,
    },
    body: `<!doctype html><html lang="en"><head><meta charset="utf-8">${refresh}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} – Tollgate</title>
<link rel="icon" href="data:,"><style>${style}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>${body}</main></body></html>`,
  };
}

/** An error as a page. */
export function buildErrorPage(error: unknown): RouteReply {
  const { status, message } = toGatewayError(error);
  return buildPage({
    title: 'This did not work',
    status,
    body: `<p role="alert">${escapeHtml(message)}</p>`,
  });
}
