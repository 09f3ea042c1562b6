import { computed } from '@preact/signals';
import { store } from '../page.ts';

type Line = {
  readonly key: string;
  readonly at: string;
  readonly about: string;
  readonly what: string;
  readonly text: string;
  readonly warning: boolean;
};

const maxLines = 80;

/** Events of the cluster and changes that this page has seen, newest first. */
const lines = computed((): readonly Line[] => {
  const events = store.moments.value.map(({ key, at, about, reason, message, warning, count }) => ({
    key,
    at,
    about,
    what: reason,
    text: count > 1 ? `${message} (${count} times)` : message,
    warning,
  }));
  const hasEvents = store.facts.value?.unreadable.every(({ what }) => what !== 'events') ?? false;
  const news = store.news.value.filter(({ recorded }) => !(recorded && hasEvents));
  const seen = news.map(({ key, at, about, text, warning }) => ({
    key,
    at,
    about,
    what: '',
    text,
    warning,
  }));
  return [...events, ...seen]
    .sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
    .slice(0, maxLines);
});

const timeFormat = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

function timeOf(at: string): string {
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? '' : timeFormat.format(ms);
}

/** Time line of objects, events and times. */
export function TimeLine() {
  return (
    <section class="time-line" aria-labelledby="time-line-title">
      <h2 id="time-line-title">Time line</h2>
      {lines.value.length === 0 && <p class="quiet">Nothing has happened yet.</p>}
      <ol
        class="moments"
        tabIndex={lines.value.length > 0 ? 0 : undefined}
        aria-labelledby="time-line-title"
      >
        {lines.value.map(({ key, at, about, what, text, warning }) => (
          <li key={key} class={warning ? 'moment warning' : 'moment'}>
            <time dateTime={at} title={at}>
              {timeOf(at)}
            </time>
            <span class="about">{about}</span>
            <span class="text">
              {warning && <span class="hidden">Warning: </span>}
              {what !== '' && <span class="what">{what}</span>} {text}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
