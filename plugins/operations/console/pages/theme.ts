/** Dark or light: as the system has it, unless the reader has chosen. */
import { effect, signal } from '@preact/signals';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

const stored = (() => {
  try {
    return localStorage.getItem('tollgate-theme');
  } catch {
    return null;
  }
})();

export const theme = signal<Theme>(themes.find((each) => each === stored) ?? 'system');

export function switchTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system';
  try {
    localStorage.setItem('tollgate-theme', theme.value);
  } catch {
    // The choice lasts until the page is closed.
  }
}

effect(() => {
  if (theme.value === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset['theme'] = theme.value;
});
