document.title = 'Drydock';
