export type { RehearsalForecast } from './forecast.ts';
export { forecastPicture } from './picture.ts';
export { durationText, forecastText } from './words.ts';
