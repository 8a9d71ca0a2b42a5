/**
 * The HTML documents that load the pages. Their policy lets nothing in but our own files: no other host, no
 * inline style, and of inline scripts only the import map, by its hash.
 */
import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import type { Assets } from './assets.ts';

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

export interface Document {
  readonly title: string;
  /** The file that starts the page. */
  readonly entry: string;
  /** HTML that is painted before any script has come, and replaced by the page. */
  readonly shell: string;
  /**
   * The file of the page that most visits begin with. It is loaded at once, not when the entry asks for it.
   */
  readonly first?: string;
  /** What the entry asks for at once. */
  readonly asks?: string;
}

/** A document with its headers. */
export interface BuiltDocument {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function buildDocument(
  { hash, importMap, neededBy, files }: Assets,
  { title, entry, shell, first, asks }: Document,
): BuiltDocument {
  // A built package has JavaScript.
  const fileOf = (name: string): string => (files.has(name) ? name : name.replace(/\.ts$/, '.js'));
  const script = fileOf(entry);
  const url = (name: string): string => `/console/${hash}/${name}`;
  const needed = [script, ...(first === undefined ? [] : [fileOf(first)])].flatMap(neededBy);
  const preloads = [...new Set(needed)]
    .filter((name) => extname(name) !== '.css')
    .map((name) => `<link rel="modulepreload" href="${url(name)}">`);
  if (asks !== undefined)
    preloads.unshift(`<link rel="preload" href="${asks}" as="fetch" crossorigin="anonymous">`);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${url('style.css')}">
<script type="importmap">${importMap}</script>
${preloads.join('\n')}
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
<div id="app">${shell}</div>
<script type="module" src="${url(script)}"></script>
</body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${digest(importMap)}'`,
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return {
    html,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      etag: `"${digest(html).slice(0, 22)}"`,
      'content-security-policy': policy,
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    },
  };
}
