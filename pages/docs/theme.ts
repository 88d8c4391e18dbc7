/** Runs before the page is painted: the theme that was chosen here or in the dashboard. */
const chosenTheme = localStorage.getItem('svc.theme');
if (chosenTheme === 'light' || chosenTheme === 'dark') document.documentElement.dataset.theme = chosenTheme;
