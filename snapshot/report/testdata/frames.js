// Uses a page as a person would who scrolls, zooms and points, and posts how many frames a second
// were drawn, and how long the median and the longest one took. PAGE is put before it.
const frame = document.createElement("iframe");
frame.width = 1200;
frame.height = 900;
frame.srcdoc = PAGE;
const FRAMES = 120;
const measured = {};
const measure = async (view, name, act) => {
  const next = () => new Promise((done) => view.requestAnimationFrame(done));
  let before = await next();
  const began = before, all = [];
  for (let i = 0; i < FRAMES; i++) {
    act(i);
    const now = await next();
    all.push(now - before);
    before = now;
  }
  all.sort((a, b) => a - b);
  measured[name] = { second: (1000 * FRAMES) / (before - began), median: all[FRAMES / 2], longest: all[FRAMES - 1] };
};
const until = async (f) => { while (!f()) await new Promise((done) => setTimeout(done, 10)); };
const use = async () => {
  const page = frame.contentDocument, view = frame.contentWindow, byId = (id) => page.getElementById(id);
  const press = (id, key) => byId(id).dispatchEvent(new view.KeyboardEvent("keydown", { key, bubbles: true }));
  const point = (id, x, y) => {
    const box = byId(id).getBoundingClientRect();
    byId(id).dispatchEvent(new view.PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y, bubbles: true, pointerId: 1 }));
  };
  // Presses the button at the left edge of a timeline, moves to the right, and lets go, which zooms.
  const drag = async (id) => {
    const box = byId(id), bounds = box.getBoundingClientRect();
    box.setPointerCapture = () => {};
    const mouse = (type, x, buttons) => box.dispatchEvent(new view.PointerEvent(type, { clientX: bounds.left + x, clientY: bounds.top + 150, button: 0, buttons, bubbles: true, pointerId: 1 }));
    mouse("pointerdown", 100, 1);
    await measure(view, "drag-" + id, (i) => mouse("pointermove", 100 + 8 * i, 1));
    mouse("pointerup", 1000, 0);
    press(id, "0");
  };
  const slide = (i) => {
    const entry = byId("entry"), least = Number(entry.min), most = Number(entry.max);
    entry.value = Math.round(least + ((most - least) * i) / FRAMES);
    entry.dispatchEvent(new view.Event("input"));
  };
  await until(() => !byId("entry").disabled);
  await measure(view, "scroll", (i) => view.scrollTo(0, (i / FRAMES) * (page.documentElement.scrollHeight - 900)));
  await measure(view, "zoom", (i) => press("timeline", i % 20 < 10 ? "+" : "-"));
  press("timeline", "+"); press("timeline", "+"); press("timeline", "Home");
  await measure(view, "pan", () => press("timeline", "PageDown"));
  await measure(view, "point", (i) => point("timeline", 80 + 8 * i, 150));
  await drag("timeline");
  await drag("allocations");
  await measure(view, "allocations", (i) => press("allocations", i % 20 < 10 ? "+" : "-"));
  await measure(view, "point-at-one", (i) => point("allocations", 80 + 8 * i, 200));
  await measure(view, "segments", (i) => press("segments-time", i % 20 < 10 ? "+" : "-"));
  await measure(view, "entries", slide);
};
frame.onload = () => setTimeout(() => use().catch((error) => { measured.error = error.stack; }).then(() => fetch("/measured", { method: "POST", body: JSON.stringify(measured) })), 500);
document.body.append(frame);
