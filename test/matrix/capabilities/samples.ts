/** The smallest file of each kind. */

/** One pixel. */
export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const pdf = 'JVBERi0xLjQKJSBhIGNoYXJ0Cg==';
export const wav = 'UklGRiQAAABXQVZFZm10IA==';
export const mp4 = 'AAAAGGZ0eXBtcDQyAAAAAA==';
export const sound = 'AQACAAMA';
export const spoken = { sound: { data: [sound], transcript: 'High water at five.' } };
export const pictureUrl = 'https://charts.example/north.png';
export const pdfUrl = 'https://charts.example/south.pdf';
