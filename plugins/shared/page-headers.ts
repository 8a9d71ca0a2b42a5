/** Headers of HTML pages, with a policy that lets nothing in but our own files. */

/** `script` and `style` are other sources that the policy allows; `forms` is where forms may be sent. */
export function buildPageHeaders(
  script = '',
  style = '',
  forms = "'none'",
): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${script}`.trimEnd(),
    `style-src 'self' ${style}`.trimEnd(),
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    `form-action ${forms}`,
    "frame-ancestors 'none'",
  ];
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}
