import { render } from 'preact';
import { asking, close, follower, narrow, now, selected } from './connection.ts';
import { followAddress, followNodePods, look, view } from './fleet-view.ts';
import { takeToken } from './orders.ts';
import { App } from './parts/app.tsx';

function watchWidth(): void {
  const query = matchMedia('(max-width: 760px)');
  const read = (): void => {
    narrow.value = query.matches;
  };
  query.addEventListener('change', read);
  read();
}

function watchEscape(): void {
  window.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || asking.value !== undefined) return;
    if (selected.value !== undefined) close();
    else if (view.value.zoom !== undefined) look(view.value);
  });
}

takeToken();
followAddress();
watchWidth();
watchEscape();
setInterval(() => {
  now.value = Date.now();
}, 1000);
render(<App />, document.body);
followNodePods();
void follower.run();
